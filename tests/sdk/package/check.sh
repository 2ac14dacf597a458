# The package of the SDK as it would be published: packed, judged and used. Run by tests/parts/sdk.sh.
#
#   bash tests/sdk/package/check.sh TOOLS    a folder where the packages of package.json are installed
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
tools=$(cd "$1" && pwd)
export PATH=$tools/node_modules/.bin:$PATH

cd "$tools"
rm -rf source packed bundles node_modules/@heartline *.tgz
cp -r "$here/../../../web-demo/client" source
(cd source && npm pack --silent --pack-destination .. >/dev/null)
packed=$(echo heartline-client-*.tgz)
publint run "$packed" --strict
attw "$packed" --profile esm-only --no-emoji
mkdir -p node_modules/@heartline/client
tar -xzf "$packed" -C node_modules/@heartline/client --strip-components 1

cp "$here"/*.mjs "$here"/*.ts "$here"/.size-limit.json .
tsd
# What a page loads at once, without what few pages load later. An adapter is counted with all that it brings; those of
# React Native with one of its two players, since no app has both.
mkdir bundles
flags=(--bundle --minify --format=esm --target=es2019 --supported:dynamic-import=true --log-level=warning --external:react)
later=('--external:./origin-*' '--external:./fallback-*' '--external:./leftovers-*')
bundle() { # NAME ARGUMENT...: of what is imported on standard input
  esbuild "${flags[@]}" "${@:2}" --outfile="bundles/$1.js"
}
bundle core "${later[@]}" <<<"export * from '@heartline/client'"
for adapter in react videojs vidstack; do
  bundle "$adapter" <<<"export * from '@heartline/client/$adapter'"
done
for player in expoVideo reactNativeVideo; do
  bundle "$player" <<<"export { openStorage, followApp, $player } from '@heartline/client/native'"
done
size-limit
node --test ./*.test.mjs

/**
 * Makes dist/, what the package ships: ES2019, minified, one file for each subpath, and files for what is loaded later or
 * shared. `import()` is younger than ES2019, and engines of 2018 have it.
 */

import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { basename, resolve } from 'node:path';
import { build } from 'esbuild';
import { minify } from 'terser';
import { withoutPrivateNames } from './private_names.mjs';

const SUBPATHS = ['heartline', 'react', 'videojs', 'vidstack', 'native'];

/** The sources without private names, which have as many lines. */
const sources = {
  name: 'sources',
  setup(esbuild) {
    esbuild.onLoad({ filter: /\.js$/ }, async ({ path }) => {
      return { contents: withoutPrivateNames(await readFile(path, 'utf8')), loader: 'ts' };
    });
  },
};

const { outputFiles } = await build({
  entryPoints: SUBPATHS.map(name => `${name}.js`),
  outdir: 'dist',
  chunkNames: '[name]-[hash]',
  bundle: true,
  splitting: true,
  external: ['react'],
  format: 'esm',
  target: 'es2019',
  supported: { 'dynamic-import': true },
  sourcemap: 'linked',
  plugins: [sources],
  // Fields are set, not defined, which takes less room.
  tsconfigRaw: { compilerOptions: { useDefineForClassFields: false } },
  write: false,
});

await rm('dist', { recursive: true, force: true });
await mkdir('dist');
const maps = new Map(outputFiles.map(({ path, text }) => [path, text]));
for (const { path, text } of outputFiles.filter(({ path }) => path.endsWith('.js'))) {
  const { code, map } = await minify(text, {
    module: true,
    ecma: 2019,
    compress: { passes: 3 },
    sourceMap: { content: maps.get(`${path}.map`), url: `${basename(path)}.map`, asObject: true },
  });
  // What a debugger shows are the sources as they are written.
  map.sourcesContent = await Promise.all(map.sources.map(source => readFile(resolve('dist', source), 'utf8')));
  await writeFile(path, code);
  await writeFile(`${path}.map`, JSON.stringify(map));
}

/** The videos that the devices can show. */

export const KIND = 1;
export const CONTENTS = [
  { oid: '100', title: 'Dawn', src: '/demo/dawn.webm' },
  { oid: '101', title: 'Noon', src: '/demo/noon.webm' },
  { oid: '102', title: 'Dusk', src: '/demo/dusk.webm' },
];

/** What people call a content; the bots watch many that have no name. */
export function titleOf(oid) {
  return CONTENTS.find(content => content.oid === oid)?.title ?? `Video ${oid}`;
}

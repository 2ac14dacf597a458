/** How the page writes positions, times and devices. */

const DEVICES = new Map([['phone', 'the phone'], ['tv', 'the TV']]);

/** In the middle of a sentence. */
export function deviceName(device) {
  return DEVICES.get(device) ?? (device || 'another device');
}

export function minutes(milliseconds) {
  const seconds = Math.floor(milliseconds / 1000);
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`;
}

export function latency(milliseconds) {
  if (milliseconds >= 1_000) return `${(milliseconds / 1_000).toFixed(milliseconds < 10_000 ? 2 : 1)} s`;
  return milliseconds < 10 ? `${milliseconds.toFixed(1)} ms` : `${Math.round(milliseconds)} ms`;
}

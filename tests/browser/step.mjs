// A step of a story: its line in the log, and the end of one that hangs.
import { PATIENCE_MS } from './demo_page.mjs';

// Longer than any wait in a step, and shorter than the part's limit: the log names the step.
const STEP_MS_MAX = 2.5 * PATIENCE_MS;

export async function tellStep(name, step, failed = async () => {}) {
  const began = performance.now();
  try {
    await inTime(step());
  } catch (error) {
    console.log(`not ok  ${name} (${seconds(began)} s)`);
    await failed();
    throw error;
  }
  console.log(`ok  ${name} (${seconds(began)} s)`);
}

export function seconds(began) {
  return ((performance.now() - began) / 1000).toFixed(1);
}

async function inTime(step) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`the step is not done after ${STEP_MS_MAX / 1000} s`)), STEP_MS_MAX);
  });
  try {
    await Promise.race([step, late]);
  } finally {
    clearTimeout(timer);
  }
}

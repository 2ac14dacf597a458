/** What is shown of the guide: its steps, and what was found after the gateway was restarted. */

import { copyOnPress } from './copy-button.js';

export class GuideView {
  #root;

  constructor(root) {
    this.#root = root;
    for (const line of root.querySelectorAll('[data-command]')) {
      copyOnPress(line.querySelector('[data-role=copy]'), line.querySelector('code'), () => this.#showCopied(line));
    }
  }

  /** @param {Map<string, string>} done  step → what was seen */
  show(done) {
    const steps = [...this.#root.querySelectorAll('[data-step]')];
    const next = steps.find(({ dataset }) => !done.has(dataset.step));
    for (const step of steps) {
      const text = done.get(step.dataset.step);
      step.dataset.done = text !== undefined;
      step.querySelector('[data-role=verdict]').textContent = text === undefined ? '' : 'Done: ';
      if (text !== undefined) this.remark(step.dataset.step, text);
      if (step === next) step.setAttribute('aria-current', 'step');
      else step.removeAttribute('aria-current');
    }
    this.#root.dataset.done = done.size;
  }

  /** What was seen at this step. */
  remark(step, text) {
    const shown = this.#root.querySelector(`[data-step=${step}] [data-role=seen]`);
    shown.textContent = text;
    shown.hidden = false;
  }

  /** Hides what was seen at the steps that are not done. */
  hideRemarks(done) {
    for (const step of this.#root.querySelectorAll('[data-step]')) {
      if (!done.has(step.dataset.step)) step.querySelector('[data-role=seen]').hidden = true;
    }
  }

  /** `pid`: of the process that is to be killed; `command`: what starts it again. */
  showProcess({ pid, command }) {
    this.#role('pid').textContent = pid;
    this.#role('start').textContent = this.#role('start').title = command;
    this.#showCopied(null);
  }

  /** The line whose command was copied last; null: none of those shown. */
  #showCopied(copied) {
    for (const line of this.#root.querySelectorAll('[data-command]')) line.dataset.copied = line === copied;
    this.#role('copied').textContent = copied ? `Copied: ${copied.querySelector('code').textContent}` : '';
  }

  /** `checked`, `readBack` and `lost` are null when the positions could not be read back. */
  showRecovery({ checked, readBack, lost, resent, dropped }) {
    const shown = this.#role('recovered');
    const counts = { checked, readBack, lost, resent, dropped };
    for (const [name, count] of Object.entries(counts)) shown.dataset[name] = count ?? 'unknown';
    this.#role('recovered-lost').textContent = headline(lost);
    for (const [role, count] of [['checked', checked], ['read-back', readBack], ['resent', resent], ['dropped', dropped]]) {
      this.#role(`recovered-${role}`).textContent = count ?? '?';
    }
    this.#role('recovered-dropped').parentElement.hidden = dropped === 0;
    shown.hidden = false;
  }

  /** The next outage has begun, and nothing is known of it yet. */
  hideRecovery() {
    this.#role('recovered').hidden = true;
  }

  #role(role) {
    return this.#root.querySelector(`[data-role=${role}]`);
  }
}

function headline(lost) {
  if (lost === null) return 'Not checked';
  return lost === 0 ? 'Recovered: 0 lost' : `Data loss: ${lost} lost`;
}

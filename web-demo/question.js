/** Asks before something that cannot be undone. */

export class Question {
  #dialog;
  #answer = null;

  constructor(dialog) {
    this.#dialog = dialog;
    const press = (role, agreed) => {
      dialog.querySelector(`[data-role=${role}]`).addEventListener('click', () => this.#settle(agreed));
    };
    press('agree', true);
    press('refuse', false);
    // Escape closes the dialog without a button.
    dialog.addEventListener('close', () => this.#settle(false));
  }

  /** Whether the user agrees. A second question before that is answered with no. */
  ask(text, agreement) {
    if (this.#answer) return Promise.resolve(false);
    this.#dialog.querySelector('[data-role=question-text]').textContent = text;
    this.#dialog.querySelector('[data-role=agree]').textContent = agreement;
    this.#dialog.showModal();
    return new Promise(resolve => { this.#answer = resolve; });
  }

  #settle(agreed) {
    const answer = this.#answer;
    this.#answer = null;
    this.#dialog.close();
    answer?.(agreed);
  }
}

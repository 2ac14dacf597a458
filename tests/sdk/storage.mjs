// What the SDK uses of a browser's Storage.
export class MemoryStorage {
  #items = new Map();

  get length() {
    return this.#items.size;
  }

  key(index) {
    return [...this.#items.keys()][index] ?? null;
  }

  getItem(name) {
    return this.#items.get(name) ?? null;
  }

  setItem(name, text) {
    this.#items.set(name, String(text));
  }

  removeItem(name) {
    this.#items.delete(name);
  }
}

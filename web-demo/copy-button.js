/** A button that copies the text of an element, and says so. */

/**
 * @param {Element} button
 * @param {Element} source
 * @param {() => void} copied
 */
export function copyOnPress(button, source, copied) {
  button.addEventListener('click', async () => {
    try {
      await navigator.clipboard.writeText(source.textContent);
      copied();
    } catch {
      // The browser allows no page to do it: then the user can, as the text is marked.
      getSelection().selectAllChildren(source);
    }
  });
}

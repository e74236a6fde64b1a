/**
 * Exactly what stands in pages with a decision: its hash is what their policy allows. A form waits five seconds after a button that
 * says so; without script it is sent at once. The focus goes to Undo, and back: so readers of screens hear what happens. Undo stands where
 * the button was, so the second tap of a double one doesn't count.
 */
export const UNDO_SCRIPT = `
for (const form of document.querySelectorAll('form:has([data-says])')) {
  const told = form.querySelector('[role=status]'), undo = form.querySelector('.undo'), count = undo.lastElementChild;
  let isSent = false;
  form.addEventListener('submit', (event) => {
    const button = event.submitter, says = button?.dataset.says;
    if (isSent || says === undefined) return;
    event.preventDefault();
    const show = (isWaiting, words) => {
      for (const each of form.querySelectorAll('[name=do]')) each.hidden = isWaiting;
      undo.hidden = !isWaiting;
      told.textContent = words;
    };
    let left = 5, isSecondTap = true;
    setTimeout(() => { isSecondTap = false; }, 500);
    const tick = () => {
      count.textContent = left;
      if (left > 0) return void (left -= 1);
      clearInterval(timer);
      isSent = undo.hidden = true;
      told.textContent = 'Sending…';
      form.requestSubmit(button);
    };
    const timer = setInterval(tick, 1000);
    show(true, says + ' in 5 seconds. Keep this page open.');
    tick();
    undo.focus();
    undo.onclick = () => {
      if (isSecondTap) return;
      clearInterval(timer);
      show(false, 'Nothing was sent.');
      button.focus();
    };
  });
  // A key that is still held down has pressed the button before.
  undo.addEventListener('keydown', (event) => { if (event.repeat) event.preventDefault(); });
}
`;

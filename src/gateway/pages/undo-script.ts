/** Seconds in which a decision can be taken back before it is sent. */
const SECONDS = 5;

/**
 * Exactly what stands in pages with a decision: its hash is what their policy allows. It holds forms back whose button says so; without
 * script they are sent at once. The focus goes to Undo, and back: so readers of screens hear what happens.
 */
export const UNDO_SCRIPT = `
for (const form of document.querySelectorAll('form:has([data-says])')) {
  const told = form.querySelector('[role=status]'), undo = form.querySelector('.undo'), count = undo.lastElementChild;
  const buttons = [...form.querySelectorAll('[name=do]')];
  let isSent = false, timer;
  const show = (isWaiting) => { for (const each of buttons) each.hidden = isWaiting; undo.hidden = !isWaiting; };
  form.addEventListener('submit', (event) => {
    const button = event.submitter, says = button?.dataset.says;
    if (isSent || says === undefined) return;
    event.preventDefault();
    let left = ${SECONDS};
    const tick = () => {
      count.textContent = left;
      if (left > 0) return void (left -= 1);
      clearInterval(timer);
      isSent = true;
      undo.hidden = true;
      told.textContent = 'Sending…';
      form.requestSubmit(button);
    };
    told.textContent = says + ' in ${SECONDS} seconds. Keep this page open.';
    show(true);
    undo.focus();
    timer = setInterval(tick, 1000);
    tick();
    undo.onclick = () => {
      clearInterval(timer);
      told.textContent = 'Nothing was sent.';
      show(false);
      button.focus();
    };
  });
  // A key that is still held down has pressed the button before.
  undo.addEventListener('keydown', (event) => { if (event.repeat) event.preventDefault(); });
}
`;

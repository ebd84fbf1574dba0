// Asks what a test put into `request` when the button is pressed, and keeps what came back in `outcome`.
document.querySelector('button').addEventListener('click', () => {
  window.outcome = window.keyturn.call(...window.request);
});

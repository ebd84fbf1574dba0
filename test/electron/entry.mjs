/**
 * Starts the built app in a real Electron for a test: its pages can be driven by Chromium's debugging protocol, and what
 * a user sees outside the windows (picture and menu of the tray, notifications) is told to the test.
 *
 * Invariant: the app's own files run unchanged, with its sandbox and its check of the command line. The port of the
 * protocol is asked for in code, which no command line can do. It runs unpacked only.
 */
import { connect } from 'node:net';
import process from 'node:process';
import { createInterface } from 'node:readline';
import { app, Notification, Tray } from 'electron';

app.commandLine.appendSwitch('remote-debugging-port', '0');

let picture = '';
let rows = () => [];
let notifications = [];

/** Hears of each call of a method, which then does what it always does. */
function hear(kind, method, heard) {
  const done = kind[method];
  kind[method] = function (...args) {
    heard(this, args[0]);
    return done.apply(this, args);
  };
}

const rowsOf = (items, above = '') =>
  items.flatMap((item) => [
    [above + item.label, () => item.click()],
    ...rowsOf(item.submenu?.items ?? [], `${above}${item.label} > `),
  ]);

hear(Tray.prototype, 'setImage', (_tray, image) => {
  if (typeof image === 'string') picture = image.replace(/^.*[/\\]/, '');
});
hear(Tray.prototype, 'setContextMenu', (_tray, menu) => (rows = () => rowsOf(menu.items)));
hear(Notification.prototype, 'show', (notification) => void notifications.push(notification));

const asks = {
  look: () => ({
    picture,
    rows: rows().map(([label]) => label),
    notifications: notifications.map(({ body }) => body),
  }),
  row(words) {
    const found = rows().find(([label]) => label.startsWith(words));
    // After the answer: a row may end the app.
    if (found) setImmediate(() => found[1]());
    return found !== undefined;
  },
  notification(words) {
    const found = notifications.findLast(({ body }) => body.includes(words));
    notifications = notifications.filter((other) => other !== found);
    found?.emit('click');
    return found !== undefined;
  },
};

// The test listens; one line of JSON for each question, and one for its answer.
const socket = connect(process.env.KEYTURN_TEST_SOCKET);
socket.on('error', () => undefined);
createInterface({ input: socket }).on('line', (line) => {
  const [name, words] = JSON.parse(line);
  socket.write(`${JSON.stringify(asks[name](words))}\n`);
});

await import('../../dist/app/electron/main.js');

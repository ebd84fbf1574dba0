// Starts a command on Windows, presses Ctrl-C in their console once its standard error holds a text, and prints how the
// command ended. The text comes before the command.
const { spawn } = require('node:child_process');
const koffi = require('koffi');

const CTRL_C_EVENT = 0;
const kernel = koffi.load('kernel32.dll');
const leave = kernel.func('int __stdcall FreeConsole()');
const allocate = kernel.func('int __stdcall AllocConsole()');
const press = kernel.func('int __stdcall GenerateConsoleCtrlEvent(uint32 event, uint32 group)');

const [text, command, ...args] = process.argv.slice(2);
// The event reaches every process of the console.
process.on('SIGINT', () => undefined);
// What Wine gives at first is no console that could press a key.
leave();
allocate();
const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'] });
let stderr = '';
let isPressed = false;
child.stderr.on('data', (data) => {
  stderr += data;
  if (isPressed || !stderr.includes(text)) return;
  isPressed = true;
  if (press(CTRL_C_EVENT, 0) === 0) throw new Error('Ctrl-C could not be pressed');
});
child.on('close', (code, signal) =>
  process.stdout.write(JSON.stringify({ isPressed, code, signal, stderr })),
);

/** Gives a forked Node process the `process.parentPort` that a child of Electron's utilityProcess has. Plain JavaScript: a short process runs it. */
import { EventEmitter } from 'node:events';

const port = new EventEmitter();
process.on('message', (data) => port.emit('message', { data }));
Object.defineProperty(process, 'parentPort', {
  value: Object.assign(port, { postMessage: (message) => void process.send?.(message) }),
});

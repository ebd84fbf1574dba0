/**
 * What a window's page gets of the world outside: `window.keyturn`, and nothing else.
 *
 * Invariant: runs sandboxed and isolated, built as one file; hands the page neither `ipcRenderer` nor an
 * event of it. It checks nothing: what a page says is checked in the main process.
 */
import { contextBridge, ipcRenderer } from 'electron';
import type { Bridge, Change } from './bridge/channels.ts';
import { callMessage, changeMessage, localeArgument } from './bridge/messages.ts';

const bridge: Bridge = {
  locale:
    process.argv.find((argument) => argument.startsWith(localeArgument))?.slice(localeArgument.length) ?? '',
  call: (channel, params) => ipcRenderer.invoke(callMessage, channel, params),
  onChange: (listener) => {
    const heard = (_event: unknown, what: Change): void => listener(what);
    ipcRenderer.on(changeMessage, heard);
    return () => void ipcRenderer.off(changeMessage, heard);
  },
};

contextBridge.exposeInMainWorld('keyturn', bridge);

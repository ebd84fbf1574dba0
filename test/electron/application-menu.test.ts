/** The menu of the windows, which is hidden but on macOS: what its keys do. */
import { expect, it } from 'vitest';
import { applicationMenu } from '../../electron/windows/application-menu.ts';

const view = {
  label: 'View',
  submenu: [
    { role: 'zoomIn', label: 'Larger' },
    { role: 'zoomOut', label: 'Smaller' },
    { role: 'resetZoom', label: 'Actual size' },
  ],
};

it('closes a window, quits the app, changes the text size, and has no tools', () => {
  const file = {
    label: 'File',
    submenu: [
      { role: 'close', label: 'Close window', accelerator: 'CommandOrControl+W' },
      { role: 'quit', label: 'Quit Keyturn', accelerator: 'CommandOrControl+Q' },
    ],
  };
  expect(applicationMenu('linux')).toEqual([file, view]);
  expect(applicationMenu('win32')).toEqual([file, view]);
});

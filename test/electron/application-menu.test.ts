/** The menu of the windows, which is hidden but on macOS: what its keys do. */
import { expect, it } from 'vitest';
import * as z from 'zod';
import { applicationMenu } from '../../electron/windows/application-menu.ts';

const view = {
  label: 'View',
  submenu: [
    { role: 'zoomIn', label: 'Larger' },
    { role: 'zoomOut', label: 'Smaller' },
    { role: 'resetZoom', label: 'Actual size' },
  ],
};

it('the menu of a window closes it, quits the app and changes the size of letters, and has no tools', () => {
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

it('the menu on macOS has the rows without which copy, paste and quit have no keys', () => {
  const menu: unknown = applicationMenu('darwin');
  const roles = z.array(
    z.object({ role: z.string().optional(), submenu: z.array(z.object({ role: z.string() })) }),
  );
  expect(roles.parse(menu).map(({ role, submenu }) => [role, ...submenu.map((row) => row.role)])).toEqual([
    ['appMenu', 'about', 'hide', 'hideOthers', 'unhide', 'quit'],
    ['editMenu', 'undo', 'redo', 'cut', 'copy', 'paste', 'selectAll'],
    [undefined, 'zoomIn', 'zoomOut', 'resetZoom'],
    ['windowMenu', 'minimize', 'close'],
  ]);
});

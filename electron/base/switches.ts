/**
 * The command-line switches that the app starts with.
 *
 * Invariant: only switches of the list below, and Windows' own, whatever the fuses are. Chromium obeys hundreds of others,
 * and some open the app to the program that set them: remote-debugging-port, js-flags, no-sandbox,
 * ignore-certificate-errors, host-resolver-rules, load-extension. What a launcher appends counts too.
 */

/** Without the dashes. */
const allowed: ReadonlySet<string> = new Set([
  // Ours: started at login, so no window is opened unless the user wants one then.
  'hidden',
  // How the window gets to the screen, and in which size: desktops and their launchers set these.
  'ozone-platform',
  'ozone-platform-hint',
  'force-device-scale-factor',
]);

/**
 * The switches among the arguments (without the program) that the app must not start with, as they were
 * written. Reads them as Chromium does: white space around them doesn't count, one dash is as good as
 * two, `--` ends them, and on Windows a slash is a dash.
 */
export function forbiddenSwitches(
  args: readonly string[],
  platform: NodeJS.Platform = process.platform,
): readonly string[] {
  const prefix = platform === 'win32' ? /^(?:--|-|\/)/ : /^(?:--|-)/;
  const words = args.map((arg) => arg.trim());
  const end = words.indexOf('--');
  return (end < 0 ? words : words.slice(0, end)).filter((word) => {
    if (word === '-' || !prefix.test(word)) return false;
    const [name = ''] = word.replace(prefix, '').split('=', 1);
    // Windows adds it where it starts an app for a click on its notification.
    if (platform === 'win32' && word === '-Embedding') return false;
    return !allowed.has(name);
  });
}

/** The login item's own switch: start without a window. */
export const hiddenSwitch = '--hidden';

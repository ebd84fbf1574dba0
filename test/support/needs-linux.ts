/** Which test files another system leaves out, and why: they name something that only Linux has here. */
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';

/** What a file names, and what that is. */
const reasons: readonly (readonly [RegExp, string])[] = [
  [/requireTestKeyring|with-keyring|gnome-keyring/, 'a throw-away keyring (Secret Service)'],
  [/openBrowserProfile|launchChromium|openWindowContext/, 'the Chromium that set-up installs'],
  [/['"`/]proc\//, '/proc'],
  [/dbus-daemon|dbus-run-session|busctl|systemd-analyze|\bbwrap\b/, 'D-Bus, systemd or bubblewrap'],
  [/['"`]\/(?:usr\/)?s?bin\//, 'programs of a Linux distribution'],
];

/** Modes, links and sockets in the file system. */
const ofUnix: readonly (typeof reasons)[number][] = [
  [/mode & 0o|0o[0-7]{3}\)|chmodSync|symlinkSync|mkfifo|process\.umask/, 'modes and links of Unix'],
];

/** Undefined: nothing that it names, or what it imports of the tests, needs Linux. */
export function whyLinux(file: string, platform: NodeJS.Platform): string | undefined {
  const wanted = platform === 'win32' ? [...reasons, ...ofUnix] : reasons;
  const seen = new Set<string>();
  const look = (each: string): string | undefined => {
    if (seen.has(each) || each === import.meta.filename || !existsSync(each)) return undefined;
    seen.add(each);
    const text = readFileSync(each, 'utf8');
    const found = wanted.find(([names]) => names.test(text));
    if (found) return found[1];
    const imports = [...text.matchAll(/^(?:import|\} from|export).*?['"](\.{1,2}\/[^'"]+)['"]/gm)];
    return imports
      .map(([, name = '']) => path.resolve(path.dirname(each), name))
      .filter((imported) => imported.includes(`${path.sep}test${path.sep}`))
      .map(look)
      .find((reason) => reason !== undefined);
  };
  return look(file);
}

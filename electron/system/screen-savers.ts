/** Locks of the screen on Linux as each desktop's screen saver signals them on the session's bus. */
import { signalHead, type LockSignals } from './bus-listener.ts';

/** Interfaces of GNOME's, KDE's (and the common one), Cinnamon's, MATE's and Xfce's screen savers. */
const savers = [
  'org.gnome.ScreenSaver',
  'org.freedesktop.ScreenSaver',
  'org.cinnamon.ScreenSaver',
  'org.mate.ScreenSaver',
  'org.xfce.ScreenSaver',
];

const rules = savers.map((saver) => `type='signal',interface='${saver}',member='ActiveChanged'`);

/** The one argument of the signal. */
const isActive = /^\s*boolean true$/;

export const screenSavers: LockSignals = {
  bus: 'session',
  rules: () => Promise.resolve(rules),
  reader: () => {
    let isTheirs = false;
    return (line) => {
      const isLock = isTheirs && isActive.test(line);
      const head = signalHead.exec(line)?.groups;
      isTheirs = savers.includes(head?.['interface'] ?? '') && head?.['member'] === 'ActiveChanged';
      return isLock;
    };
  },
};

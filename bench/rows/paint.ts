/** The app's page in Chromium with 500 sign-ins, in place of Electron: from the start of its load until its first rows are painted. */
import { answerCall, type ChannelHandler } from '../../electron/windows/ipc.ts';
import { openBrowserProfile } from '../../test/support/browsers/browser.ts';
import { type Answer, windowPage } from '../../test/support/electron/window-page.ts';
import { exampleAnswer } from '../../test/support/homes/example-desk.ts';
import { Home } from '../home.ts';
import { inTurn, isSmoke, type Measurement } from '../row.ts';

const signIns = isSmoke ? 5 : 500;

/** What the app's main process answers without the broker. */
const ofTheApp: ReadonlySet<unknown> = new Set(['preferences.get', 'setup.look', 'card.shown', 'card.fit']);

/** Asks for the time of the paint after the first rows came: the frame that has them is drawn before its timers run. */
const firstRows = `new Promise((resolve) => {
  const look = () => {
    if (!document.querySelector('.pick')) return requestAnimationFrame(look);
    requestAnimationFrame(() => setTimeout(() => resolve(performance.now())));
  };
  look();
})`;

export const paint: Measurement = {
  name: 'paint',
  async measure(world) {
    const { ca, lasting, resource } = await world();
    await using home = new Home(ca, 'sealed-file');
    const profile = await openBrowserProfile({ ca: '', origins: [] });
    await using ends = new AsyncDisposableStack();
    ends.defer(async () => profile.close());
    await home.prepare([lasting]);
    await home.endBroker();
    await home.copySignIn(Array.from({ length: signIns - 1 }, (_, n) => resource(3600, 0, `s${n}`)));
    await home.startBroker();
    const owner = await home.owner();
    const window = await windowPage(profile.page.context());
    const example = exampleAnswer();
    const ask: ChannelHandler = async (channel, params) => owner.request(channel, params as object);
    const answer: Answer = async (channel, params) =>
      ofTheApp.has(channel) ? example(channel, params) : answerCall(ask, channel, params);
    const painted = async (): Promise<number> => {
      const { page } = await window.open({ answer, hash: 'servers' });
      return page.evaluate<number>(firstRows);
    };
    const figures = await inTurn(9, { ours: painted });
    owner.close();
    const what = `first paint of the window with ${signIns} sign-ins`;
    return [{ what, unit: 'ms', ...figures, goals: { itself: 300 } }];
  },
};

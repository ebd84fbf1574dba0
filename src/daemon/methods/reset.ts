/** The end of a home, as far as the broker brings it about: it then stops, and its files are removed by who asked. */
import type { Handlers } from './host.ts';

export const resetMethods: Pick<Handlers, 'home.reset'> = {
  'home.reset': async (host, _caller, params) => {
    const answer = await host.reset(params);
    await host.stop();
    return answer;
  },
};

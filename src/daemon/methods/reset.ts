/** The end of a home, as far as the broker brings it about: it then stops, and its files are removed by who asked. */
import type { Handlers } from './services.ts';

export const resetMethods: Pick<Handlers, 'home.reset'> = {
  'home.reset': async (services, _caller, params) => {
    const answer = await services.reset(params);
    await services.stop();
    return answer;
  },
};

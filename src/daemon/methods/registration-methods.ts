/** The owner's methods about clients of ours at issuers: entering one by hand, what there is, and its end. */
import type { Handlers } from './services.ts';
import { registeredAnswers, removeRegistered } from './registered-clients.ts';

export const registrationMethods: Pick<
  Handlers,
  'registration.set' | 'registration.list' | 'registration.remove'
> = {
  'registration.set': (services, _caller, params) => services.register(params),

  'registration.list': ({ broker }) => ({ registrations: registeredAnswers(broker.parts) }),

  'registration.remove': async ({ broker }, _caller, params) => {
    await removeRegistered(broker.parts, params);
    return {};
  },
};

/** The owner's methods about clients of ours at issuers: entering one by hand, what there is, and its end. */
import type { Handlers } from './host.ts';
import { registeredAnswers, removeRegistered } from './registered-clients.ts';

export const registrationMethods: Pick<
  Handlers,
  'registration.set' | 'registration.list' | 'registration.remove'
> = {
  'registration.set': (host, _caller, params) => host.register(params),

  'registration.list': ({ broker }) => ({ registrations: registeredAnswers(broker.parts) }),

  'registration.remove': async ({ broker }, _caller, params) => {
    await removeRegistered(broker.parts, params);
    return {};
  },
};

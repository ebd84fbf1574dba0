/** The owner's methods about the home: exceptions, settings, the audit log, the broker itself. */
import type { Broker } from '../../broker/broker.ts';
import { namesOfServers } from '../../broker/records/sign-in.ts';
import { hostOrigin, privateAddress } from '../../broker/records/exception.ts';
import { withoutEndSlashes } from '../../base/text/below-path.ts';
import { settingAnswer } from './answers.ts';
import type { Handlers } from './services.ts';

export const homeMethods = {
  'exception.set': async ({ broker }, _caller, { server, name, on }) => {
    const { exceptions, servers, audit, signIns, refresher } = broker.parts;
    const canonical = broker.canonical(server);
    const places =
      name === privateAddress ? new Set([hostOrigin(canonical)]) : spellings(broker, server, canonical);
    for (const spelling of places) await exceptions.set(spelling, name, on);
    servers.forget();
    // A rule that was waived may be the one by which a refresh was refused.
    const named = signIns.all().filter((signIn) => namesOfServers(signIn).some((one) => places.has(one)));
    if (on) await refresher.failures.tryAgain(named);
    await audit.record({ event: 'exception', outcome: `${name} ${on ? 'on' : 'off'}`, endpoint: server });
  },

  'settings.get': (services) =>
    settingAnswer(services.settings.details(), services.status().homeState.approver),

  'settings.set': (services, _caller, { name, value }) => services.changeSetting(name, value),

  'audit.tail': async ({ trail }, _caller, { count }) => {
    const { rows, skipped } = await trail.tail(count);
    return skipped > 0 ? { rows, skipped } : { rows };
  },

  'audit.activity': ({ trail }, _caller, { hours }) => trail.activity(hours),

  status: (services) => services.status(),

  'broker.stop': (services) => services.stop(),

  subscribe: (services, caller) => services.subscribe(caller),

  'display.set': (services, _caller, display) => services.setDisplay(display),
} satisfies Partial<Handlers>;

/** An issuer is compared byte for byte, an endpoint by its canonical form: kept, and ended, under each. */
function spellings(broker: Broker, server: string, canonical: string): ReadonlySet<string> {
  const known = broker.parts.exceptions.shown().map((record) => record.server);
  const same = known.filter((other) => withoutEndSlashes(URL.parse(other)?.href ?? '') === canonical);
  return new Set([server, canonical, ...same]);
}

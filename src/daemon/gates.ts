/**
 * What stands between the broker and the network, the browser and the person, put together.
 *
 * Invariant: nothing goes out before the vault has said whose home this is, and at a desk not before the person
 * confirmed or refused the settings that were written outside Keyturn.
 */
import type { BrokerParts } from '../broker/parts.ts';
import { AccessPause } from '../broker/refusals/access-pause.ts';
import { readAuthorities } from './system/authorities.ts';
import type { Difference } from './settings/confirmed-settings.ts';
import { daemonFetch } from './system/fetch.ts';
import type { DaemonFetch, ProxyFor } from './system/fetch.ts';
import { HomeCheck } from './home/home-check.ts';
import type { HomeCheckParts } from './home/home-check.ts';
import type { SettingsVerdict } from './settings/settings-card.ts';
import { askAboutSettings } from './settings/settings-question.ts';

export interface GateParts extends Omit<HomeCheckParts, 'ask'> {
  /** Milliseconds since 1970. */
  readonly wall: () => number;
  readonly proxyFor: ProxyFor | undefined;
  /** What asks the person; there is nothing before the broker is put together. */
  readonly parts: () => BrokerParts | undefined;
  /** Aborted when the broker stops. */
  readonly over: AbortSignal;
}

export interface Gates {
  readonly homeCheck: HomeCheck;
  readonly net: DaemonFetch;
  readonly gates: {
    readonly settled: () => Promise<void>;
    readonly pause: AccessPause;
    /** Where nobody sits at this broker. */
    readonly mayAsk?: () => Promise<void>;
  };
}

/** Throws `file_unreadable` where the authorities that count at a headless broker can't be read. */
export function openGates({ wall, proxyFor, parts, over, ...rest }: GateParts): Gates {
  const { book, isDesk } = rest;
  const { extraAuthorities } = book.written;
  if (!isDesk && extraAuthorities !== undefined) readAuthorities(extraAuthorities);
  const ask = async (different: readonly Difference[], answered: () => void): Promise<SettingsVerdict> => {
    const asking = parts();
    return asking ? askAboutSettings(asking, different, over, answered) : 'later';
  };
  const pause = new AccessPause(wall);
  const homeCheck = new HomeCheck({ ...rest, ask });
  const settled = (): Promise<void> => homeCheck.settled();
  const net = daemonFetch(async () => {
    await settled();
    const { httpsProxy, noProxy } = book.current;
    const ignoresEnvironment = isDesk || homeCheck.isClosed;
    return { authorities: homeCheck.authorities, httpsProxy, noProxy, proxyFor, ignoresEnvironment };
  });
  return {
    homeCheck,
    net,
    gates: { settled, pause, ...(isDesk ? {} : { mayAsk: () => homeCheck.requireOpen() }) },
  };
}

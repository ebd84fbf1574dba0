/** What `status` answers: the broker and its home, with what is wrong. Nothing of it is secret. */
import { shieldGaps, type ShieldGap } from '../base/shield.ts';
import { noToken } from '../broker/tokens/sign-in-secret.ts';
import type { BrokerParts } from '../broker/parts.ts';
import { isLiving } from '../broker/records/sign-in.ts';
import type { ResultOf } from '../ipc/protocol/methods.ts';
import { clocksAnswer } from './methods/answers.ts';
import { pauseAnswer } from './methods/vault-methods.ts';
import type { Records } from '../broker/records/records.ts';
import { troubleWith, type FileTrouble } from '../store/document-refusals.ts';
import type { AuditTrouble } from '../audit/audit.ts';
import type { Forwards } from './forwards/forwards.ts';
import type { Home } from './home/home.ts';
import type { HomeCheck } from './home/home-check.ts';
import type { RunningProxies } from './proxy/running-proxies.ts';
import type { VaultLock } from './vault/vault-lock.ts';
import type { BrowserDisplay } from './system/display.ts';
import type { Log } from './system/log.ts';
import type { SettingsBook } from './settings/settings-book.ts';
import { shown } from './settings/settings-card.ts';
import { version } from './system/version.ts';
import { wrappedBy } from './settings/settings.ts';

interface StatusParts {
  readonly home: Home;
  readonly book: SettingsBook;
  readonly parts: BrokerParts;
  readonly records: Records;
  readonly trail: { readonly trouble: AuditTrouble | undefined };
  readonly log: Log;
  readonly vaultLock: VaultLock;
  readonly homeCheck: Pick<HomeCheck, 'state'>;
  readonly proxies: Pick<RunningProxies, 'standing'>;
  readonly forwards: Pick<Forwards, 'list'>;
  readonly display: Pick<BrowserDisplay, 'name'>;
  /** What the process could not be shielded from. */
  readonly unshielded: readonly ShieldGap[];
}

function auditAnswer({ error, waiting, lost }: AuditTrouble): ResultOf<'status'>['audit'] {
  return { why: error.message, hint: error.hint, waiting, lost };
}

/** Of sign-ins whose item the vault certainly doesn't have, as far as it was asked. */
function missingItems({ signIns, refresher }: BrokerParts): FileTrouble[] {
  return signIns
    .shown()
    .filter((signIn) => isLiving(signIn) && refresher.secrets.factsOf(signIn).isMissing)
    .map((signIn) => troubleWith(signIn.item ?? '', noToken(signIn)));
}

export function statusOf(reported: StatusParts): ResultOf<'status'> {
  const { home, book, parts, records, trail, log, vaultLock } = reported;
  const { homeCheck, proxies, forwards, unshielded, display } = reported;
  const settings = book.current;
  return {
    version,
    pid: process.pid,
    home: home.paths.state,
    vault: settings.vault,
    vaultOpenedBy: settings.vault === 'sealed-file' ? wrappedBy(settings.vaultKey) : undefined,
    vaultSource: vaultLock.source(),
    vaultState: vaultLock.state(),
    pause: parts.pause.current && pauseAnswer(parts.pause.current),
    browser: settings.browser,
    display: parts.isKeyturnApp ? undefined : display.name,
    insecureLoopback: settings.insecureLoopback,
    signIns: parts.signIns.shown().filter(isLiving).length,
    apiKeys: records.keys.readable.length,
    apps: records.apps.readable.length,
    requests: parts.approvalRequests.list().length,
    exceptions: records.exceptions.readable,
    proxies: proxies.standing(),
    forwards: forwards.list().length,
    unreadable: [...(records.document.trouble ? [records.document.trouble] : []), ...missingItems(parts)],
    homeState: { ...homeCheck.state, differing: shown(homeCheck.state.differing) },
    settings: book.recorded(),
    log: { level: log.level, file: log.file, ok: log.isOk },
    audit: trail.trouble && auditAnswer(trail.trouble),
    unshielded: unshielded.map((gap) => shieldGaps[gap]),
    clocks: clocksAnswer(parts),
  };
}

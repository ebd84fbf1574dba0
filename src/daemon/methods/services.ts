/** What the methods of the wire need besides the broker, and the form that each of them has. */
import type { MaybePromise } from '../../broker/maybe-promise.ts';
import type { Broker } from '../../broker/broker.ts';
import type { MethodName, ParamsOf, ResultOf, WideningMethod } from '../../ipc/protocol/methods.ts';
import type { Caller } from '../../ipc/server/server.ts';
import type { AppProcesses } from '../apps/app-processes.ts';
import type { AuditFile } from '../../audit/audit.ts';
import type { Forwards } from '../forwards/forwards.ts';
import type { BackupKeys } from '../vault/backup-keys.ts';
import type { VaultLock } from '../vault/vault-lock.ts';
import type { HomeCheck } from '../home/home-check.ts';
import type { RunningProxies } from '../proxy/running-proxies.ts';
import type { KeptPause } from '../home/kept-pause.ts';
import type { HomeDocument } from '../../store/document.ts';
import type { SettingsBook } from '../settings/settings-book.ts';
import type { SignInAccess } from '../apps/sign-in-access.ts';
import type { PermissionChange } from '../approvals/widening.ts';

/** What the methods need of their host besides the broker. */
export interface Services {
  readonly broker: Broker;
  readonly settings: SettingsBook;
  readonly processes: AppProcesses;
  readonly signIns: SignInAccess;
  readonly vaultLock: Pick<VaultLock, 'admit' | 'lock' | 'unlock' | 'changePassphrase'>;
  readonly backupKeys: BackupKeys;
  readonly pause: Pick<KeptPause, 'begin' | 'end'>;
  readonly trail: Pick<AuditFile, 'about' | 'activity' | 'tail'>;
  readonly homeCheck: Pick<HomeCheck, 'refuseMismatch' | 'requireFirstUseAnswered' | 'requireMayWiden'>;
  readonly document: Pick<HomeDocument, 'verify' | 'isJudged' | 'isOwed' | 'isUnverified'>;
  /** Runs a request, unless the broker is about to stop (shutdown.ts). */
  readonly shutdown: { run(request: () => unknown): unknown };
  readonly proxies: Pick<RunningProxies, 'list' | 'add' | 'rotate' | 'remove'>;
  readonly forwards: Pick<Forwards, 'open' | 'list' | 'end'>;
  /** How the broker would reach this endpoint, without what is secret of it. */
  network(endpoint: string): Promise<ResultOf<'network.get'>>;
  status(): ResultOf<'status'>;
  changeSetting(name: string, value: unknown): Promise<ResultOf<'settings.set'>>;
  subscribe(caller: Caller): void;
  /** Where the browser opens from now on. */
  setDisplay(display: ParamsOf<'display.set'>): void;
  closeConnectionsOf(appId: string): void;
  /** Removes the key file of an app that was unpaired, if it is in the home. */
  removeKeyOf(appId: string): Promise<void>;
  /** Ends every sign-in and empties the vault; the files are for others to remove, once the daemon has stopped. */
  reset(params: ParamsOf<'home.reset'>): Promise<ResultOf<'home.reset'>>;
  /** Something was changed: the lists that show it are read again. */
  changed(): void;
  /** A request was refused, or failed by an internal error. */
  noteFailure(method: string, error: unknown): void;
  /**
   * Asks the user of the Keyturn app about a command; absent: there is no window, and nobody is asked. Rejects without
   * an approval. Resolves for `permission.set` and `apiKey.permission.set` with what the card was about: nothing
   * else may be set.
   */
  readonly approve?: (
    caller: Caller,
    method: WideningMethod,
    params: unknown,
  ) => Promise<PermissionChange | undefined>;
  /** Resolves when every rotated token is in the vault, or was given up; the socket closes once the answer has left. */
  stop(): Promise<void>;
}

/** A method whose answer has no fields may answer nothing. */
export type Handlers = {
  readonly [M in MethodName]: (
    services: Services,
    caller: Caller,
    params: ParamsOf<M>,
    approved?: PermissionChange,
  ) => MaybePromise<ResultOf<M> | (ResultOf<M> extends Record<string, never> ? void : never)>;
};

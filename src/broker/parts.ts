/**
 * What the broker is made of, put together bottom up: clock, records, network, vault, and what uses them.
 *
 * Invariant: one of each a home. Nothing here reads a file, a keychain or the network.
 */
import type { Audit } from '../audit/audit.ts';
import type { Clock } from '../base/clock.ts';
import type { Fetch, Http } from '../oauth/base/http.ts';
import { ServerClocks } from '../oauth/base/server-clock.ts';
import { VaultItems } from '../store/vault-items.ts';
import { requireStorable, type Vault } from '../vault/base/vault.ts';
import { TemporaryPermissions } from './consent/temporary-permissions.ts';
import type { Loopback } from './loopback/loopback.ts';
import type { ApprovalRequests } from './approval-requests/approval-requests.ts';
import { ApiKeys } from './records/api-key.ts';
import { SignIns } from './records/sign-ins.ts';
import { Apps } from './records/app.ts';
import { ExceptionRecords } from './records/exception.ts';
import { Permissions } from './records/permission.ts';
import type { Records } from './records/records.ts';
import { Registrations } from './records/registrations.ts';
import type { AccessPause } from './refusals/access-pause.ts';
import { AssertionSources } from './sign-in/unattended/assertion-sources.ts';
import { RefusedPrompts } from './sign-in/page-options.ts';
import { AuthorizationServers } from './tokens/authorization-servers.ts';
import { Refresher } from './tokens/refresher.ts';
import { ServerRests } from './tokens/server-rests.ts';
import type { TokenCache } from './tokens/token-cache.ts';

export type BrokerParts = Readonly<ReturnType<typeof brokerParts>>;

/** What the host gives as it is. */
interface HostParts {
  readonly clock: Clock;
  readonly audit: Audit;
  readonly vault: Vault;
  readonly cache: TokenCache;
  readonly loopback: Loopback;
  readonly approvalRequests: ApprovalRequests;
  readonly pause: AccessPause;
  /** A user sits at windows of the broker's own: an approval takes effect there only, and refusals say so. */
  readonly isKeyturnApp: boolean;
  /** Before something goes out, or a browser opens. Throws what keeps it here. */
  readonly requireSettingsAnswered: () => Promise<void>;
}

/** They may change while the broker runs: read at each use. */
interface LiveSettings {
  readonly insecureLoopback: boolean;
  readonly protocolVersionHeader: string;
  readonly protocolVersion: string;
  readonly clientMetadataUrl?: string | undefined;
  readonly browser?: string | undefined;
}

interface Host {
  readonly records: Records;
  readonly settings: LiveSettings;
  readonly fetchFor: (endpoint: string, isPrivate: (url: string) => boolean) => Fetch;
  readonly openBrowser: (url: string, command: string | undefined) => Promise<void>;
  readonly signInsChanged: () => void;
}

export function brokerParts(given: HostParts, { records, openBrowser, signInsChanged, ...host }: Host) {
  const { clock, vault, requireSettingsAnswered } = given;
  const { settings } = host;
  const { document } = records;
  const exceptions = new ExceptionRecords(records.exceptions);
  const network = networkOf(clock, exceptions, host);
  const signIns = new SignIns(records.signIns, signInsChanged);
  const items = new VaultItems({ ...records, vault });
  const registrations = new Registrations(records.registrations, items);
  const servers = new AuthorizationServers({ network, exceptions });
  const shared = { ...given, document, network, exceptions, items, signIns, registrations, servers };
  return {
    ...shared,
    /** Whether http is accepted for loopback hosts. */
    urlPolicy: {
      get allowInsecureLoopback() {
        return settings.insecureLoopback;
      },
    },
    get clientMetadataUrl() {
      return settings.clientMetadataUrl;
    },
    rests: new ServerRests(() => clock.now()),
    refresher: new Refresher(shared),
    refusedPrompts: new RefusedPrompts(),
    assertions: new AssertionSources(() => clock.now()),
    apps: new Apps(records.apps),
    apiKeys: new ApiKeys(records.keys, items),
    permissions: new Permissions(records.permissions),
    temporaryPermissions: new TemporaryPermissions(),
    /** Throws unless the vault can keep a token. */
    requireVault: async () => {
      await requireSettingsAnswered();
      await requireStorable(vault);
    },
    /** Hands an address to the system browser without a shell. Rejects where there is none. */
    openBrowser: async (url: string) => {
      await requireSettingsAnswered();
      await openBrowser(url, settings.browser);
    },
  };
}

/**
 * The way to the network for what starts at an endpoint. Requests for all endpoints share what is known of servers:
 * their clocks, and the forms of secrets that they take.
 */
function networkOf(
  clock: Clock,
  exceptions: ExceptionRecords,
  { settings, fetchFor }: Pick<Host, 'settings' | 'fetchFor'>,
): (endpoint: string) => Http {
  const shared = { serverClocks: new ServerClocks(), secretForms: new Map<string, string>() };
  return (endpoint) => ({
    ...shared,
    fetch: fetchFor(endpoint, (url) => exceptions.isPrivate(url)),
    now: () => clock.now(),
    wall: () => clock.wall(),
    protocolVersion: { header: settings.protocolVersionHeader, value: settings.protocolVersion },
    allowInsecureLoopback: settings.insecureLoopback,
  });
}

/**
 * Puts the broker's parts together: clock, records, network, vault, and what rests on them.
 *
 * Invariant: one of each a home. Nothing here reads a file, a keychain or the network.
 */
import type { KeyObject } from 'node:crypto';
import type { Clock } from '../base/clock.ts';
import type { Audit } from '../audit/audit.ts';
import { listOf, openDocument } from '../store/authority.ts';
import type { DocumentList } from '../store/authority.ts';
import type { AuthorityDocument } from '../store/document.ts';
import { unusedList, unusedRules, unusedSchema } from '../store/unused-items.ts';
import { VaultItems } from '../store/vault-items.ts';
import { apiKeyRules, ApiKeys, apiKeySchema } from '../broker/records/api-key.ts';
import { AuthorizationServers } from '../broker/tokens/authorization-servers.ts';
import { grantRules, Grants, grantSchema } from '../broker/records/grant.ts';
import { Interactions } from '../broker/questions/interaction.ts';
import { Leases } from '../broker/consent/lease.ts';
import { LocalClients, localClientSchema } from '../broker/records/local-client.ts';
import type { Loopback } from '../broker/loopback/loopback.ts';
import { OverrideBook, overrideRules, overrideSchema } from '../broker/records/override.ts';
import type { BrokerParts } from '../broker/parts.ts';
import { accessRules, accessSchema } from '../broker/records/pause.ts';
import type { AccessPause } from '../broker/refusals/access-pause.ts';
import { permissionRules, Permissions, permissionSchema } from '../broker/records/permission.ts';
import type { Records } from '../broker/records/records.ts';
import { proxyRules, proxySchema } from '../broker/records/proxy.ts';
import { ServerRests } from '../broker/tokens/server-rests.ts';
import { Refresher } from '../broker/tokens/refresher.ts';
import {
  registrationRecordSchema,
  registrationRules,
  Registrations,
} from '../broker/records/registrations.ts';
import type { TokenCache } from '../broker/tokens/token-cache.ts';
import type { Http } from '../oauth/base/http.ts';
import { requireStorable } from '../vault/base/vault.ts';
import type { Vault } from '../vault/base/vault.ts';
import { ServerClocks } from '../oauth/base/server-clock.ts';
import type { DaemonFetch } from './system/fetch.ts';
import { homeRecordSchema } from './home/home-record.ts';
import type { HomeRecord } from './home/home-record.ts';
import type { Home } from './home/home.ts';
import { requireShowable } from './methods/open-questions.ts';
import type { Settings } from './settings/settings.ts';

export interface RecordParts {
  readonly home: Home;
  readonly vault: Vault;
  readonly root: () => Promise<KeyObject>;
}

/** All lists of the document. */
export type HomeRecords = Records & { readonly home: DocumentList<HomeRecord> };

/** Reads nothing yet. */
export function openRecords({ home, vault, root }: RecordParts): HomeRecords {
  return recordsOf(openDocument({ folder: home.paths.state, homeId: home.homeId, vault, root }));
}

export function recordsOf(document: AuthorityDocument): HomeRecords {
  return {
    document,
    grants: listOf(document, 'grants', grantSchema, grantRules),
    registrations: listOf(document, 'registrations', registrationRecordSchema, registrationRules),
    clients: listOf(document, 'clients', localClientSchema),
    permissions: listOf(document, 'permissions', permissionSchema, permissionRules),
    overrides: listOf(document, 'overrides', overrideSchema, overrideRules),
    proxies: listOf(document, 'proxies', proxySchema, proxyRules),
    keys: listOf(document, 'keys', apiKeySchema, apiKeyRules),
    access: listOf(document, 'access', accessSchema, accessRules),
    home: listOf(document, 'home', homeRecordSchema),
    unused: listOf(document, unusedList, unusedSchema, unusedRules),
  };
}

export interface AssemblyInput {
  readonly clock: Clock;
  readonly settings: NetworkSettings & Pick<Settings, 'browser' | 'clientMetadataUrl'>;
  readonly vault: Vault;
  readonly net: Pick<DaemonFetch, 'fetchFor'>;
  /** Ends a request that takes too long; by the machine's clock unless given. */
  readonly deadline?: Http['deadline'];
  readonly cache: TokenCache;
  readonly loopback: Loopback;
  readonly records: Records;
  readonly audit: Audit;
  readonly pause: AccessPause;
  readonly openBrowser: (url: string, command: string | undefined) => Promise<void>;
  readonly isDesk: boolean;
  /** Before something goes out, or a browser opens. Throws what keeps it here. */
  readonly settled: () => Promise<void>;
  /** Before the person is asked, where nobody sits at this broker. */
  readonly mayAsk?: () => Promise<void>;
  /** Tell the owner's connections that the open questions changed, and the grants. */
  readonly questionsChanged: () => void;
  readonly grantsChanged: () => void;
}

export function assemble({
  clock,
  settings,
  vault,
  net,
  deadline,
  records,
  openBrowser,
  settled,
  mayAsk,
  questionsChanged,
  grantsChanged,
  ...given
}: AssemblyInput): BrokerParts {
  // `settings` changes once the vault has said which settings count: read at each use.
  const urlPolicy = {
    get allowInsecureLoopback() {
      return settings.insecureLoopback;
    },
  };
  const overrides = new OverrideBook(records.overrides);
  const network = networkOf({ clock, net, overrides, settings, ...(deadline ? { deadline } : {}) });
  const grants = new Grants(records.grants, grantsChanged);
  const items = new VaultItems({ ...records, vault });
  const registrations = new Registrations(records.registrations, items);
  const servers = new AuthorizationServers({ network, overrides });
  const shared = {
    ...given,
    document: records.document,
    network,
    clock,
    overrides,
    vault,
    items,
    settled,
    requireVault: storableOnceSettled(vault, settled),
    grants,
    registrations,
    servers,
  };
  return {
    ...shared,
    urlPolicy,
    get clientMetadataUrl() {
      return settings.clientMetadataUrl;
    },
    rests: new ServerRests(() => clock.now()),
    refresher: new Refresher(shared),
    interactions: new Interactions(() => clock.wall(), questionsChanged, { mayAsk, requireShowable }),
    clients: new LocalClients(records.clients),
    keys: new ApiKeys(records.keys, items),
    permissions: new Permissions(records.permissions),
    leases: new Leases(),
    openBrowser: async (url) => {
      await settled();
      await openBrowser(url, settings.browser);
    },
  };
}

type NetworkSettings = Pick<Settings, 'insecureLoopback' | 'protocolVersionHeader' | 'protocolVersion'>;

interface NetworkParts {
  readonly clock: Clock;
  readonly net: Pick<DaemonFetch, 'fetchFor'>;
  readonly deadline?: Http['deadline'];
  readonly overrides: Pick<OverrideBook, 'isPrivate'>;
  readonly settings: NetworkSettings;
}

/** Requests for all endpoints share what is known of servers: their clocks, and the forms of secrets that they take. */
export function networkOf({
  clock,
  net,
  deadline,
  overrides,
  settings,
}: NetworkParts): (endpoint: string) => Http {
  const serverClocks = new ServerClocks();
  const secretForms = new Map<string, string>();
  return (endpoint) => ({
    fetch: net.fetchFor(endpoint, (url) => overrides.isPrivate(url)),
    now: () => clock.now(),
    wall: () => clock.wall(),
    serverClocks,
    secretForms,
    protocolVersion: { header: settings.protocolVersionHeader, value: settings.protocolVersion },
    allowInsecureLoopback: settings.insecureLoopback,
    ...(deadline ? { deadline } : {}),
  });
}

/** Refreshes and sign-ins begin with no settings that nobody confirmed, and only if a token could be kept. */
function storableOnceSettled(vault: Vault, settled: () => Promise<void>): () => Promise<void> {
  return async () => {
    await settled();
    await requireStorable(vault);
  };
}

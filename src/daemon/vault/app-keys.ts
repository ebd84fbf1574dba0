/**
 * Which key opens the socket for whom, and how an app gets one.
 *
 * Invariant: no app's key is stored: it is derived from the root key, the app's id and its
 * generation, and given to the app that the user approved: to its connection, or to who shows its ticket. It opens the
 * socket that it was made on: the home's own, or those of one forward. The owner's key opens the home's own alone.
 */
import type { KeyObject } from 'node:crypto';
import type { ProcessFacts } from '../../broker/approval-requests/app-process.ts';
import type { Audit } from '../../audit/audit.ts';
import type { Clock } from '../../base/clock.ts';
import type { ApprovalRequests } from '../../broker/approval-requests/approval-requests.ts';
import { isSameOrigin, shownName } from '../../broker/records/app.ts';
import type { ForwardOrigin, App, Apps } from '../../broker/records/app.ts';
import { KeyturnError } from '../../base/errors.ts';
import { deriveAppKey } from '../../ipc/wire/handshake.ts';
import type { NewPairing, PairRequest } from '../../ipc/server/server.ts';
import { ownerId } from '../../ipc/wire/handshake-messages.ts';
import type { Identity } from '../../ipc/wire/handshake-messages.ts';
import type { HomeDocument } from '../../store/document.ts';
import { derivedKey } from '../../vault/base/item-store.ts';
import type { Home } from '../home/home.ts';
import { pairingProcess } from '../apps/app-processes.ts';

export interface AppKeyParts {
  readonly home: Home;
  readonly root: () => Promise<KeyObject>;
  readonly document: Pick<HomeDocument, 'verify'>;
  readonly apps: Apps;
  readonly approvalRequests: ApprovalRequests;
  readonly clock: Clock;
  readonly audit: Audit;
}

export class AppKeys {
  readonly #parts: AppKeyParts;

  constructor(parts: AppKeyParts) {
    this.#parts = parts;
  }

  /**
   * Undefined for an app that is not paired there. `forward`: whose socket it came by; absent: the home's own.
   * Throws what the vault throws.
   */
  async keyFor(appId: string, forward?: ForwardOrigin): Promise<KeyObject | undefined> {
    const { home, document, apps, clock } = this.#parts;
    if (appId === ownerId) return forward === undefined ? home.ownerKey : undefined;
    // Nobody makes the keychain ask for a password by calling himself something.
    if (!apps.isListed(appId)) return undefined;
    await document.verify();
    const app = apps.usable(appId, clock.wall());
    if (!app || !isSameOrigin(app.forward, forward)) return undefined;
    return this.#keyOf(app);
  }

  /** Asks the user; resolves with what makes the new app and its key, or throws `pairing_denied`. */
  async pair(request: PairRequest, forward?: ForwardOrigin): Promise<() => Promise<NewPairing>> {
    const { apps, approvalRequests, clock, audit } = this.#parts;
    const appName = shownName({ name: request.name, forward });
    apps.refuseTaken(appName, clock.wall());
    const appProcess = pairingProcess(request);
    const question = { kind: 'pair', appName, code: request.code, appProcess, forward } as const;
    const { verdict } = await approvalRequests.ask(question, request.signal);
    await audit.record({ event: 'pair', outcome: verdict, app: appName });
    if (verdict !== 'approve') {
      throw new KeyturnError('pairing_denied', 'The user did not pair this app.', {
        hint: 'Ask again when the user expects it.',
      });
    }
    // The path of a forwarded app is one of another machine, or of another view of the disk.
    const from = forward === undefined ? executableOf(appProcess) : { forward };
    return async () => {
      // First: without it no app is paired.
      await this.#parts.root();
      const app = await apps.add(request.name, clock.wall(), from);
      return { appId: app.id, key: await this.#keyOf(app) };
    };
  }

  /** For the process of the proxies, which asks for this app. */
  async identityOf({ id, generation }: Pick<App, 'id' | 'generation'>): Promise<Identity> {
    const { homeId } = this.#parts.home;
    const key = await this.#keyOf({ id, generation });
    return { appId: id, key: key.export().toString('base64url'), brokerId: homeId };
  }

  async #keyOf({ id, generation }: Pick<App, 'id' | 'generation'>): Promise<KeyObject> {
    const { home, root } = this.#parts;
    return deriveAppKey(derivedKey(await root(), 'programs'), home.homeId, id, generation);
  }

  /** The first good hello makes the pairing count. */
  async confirm(appId: string): Promise<void> {
    await this.#parts.apps.confirm(appId);
  }
}

/** The path that is kept with a pairing: of a file that the kernel named, and that is the one at that path. */
function executableOf({ file, executable }: ProcessFacts): Pick<App, 'executable'> {
  const isKnown = file === 'attested' || file === 'interpreter';
  return isKnown && executable !== undefined ? { executable } : {};
}

/**
 * The holders of keys, and which of them makes new ones.
 *
 * Invariant: a key is asked for only where it was made. If the chosen holder can't make one, no other takes its place.
 */
import type { SpawnChild } from '../base/system/child.ts';
import { tokenPlace } from './base/holder-uri.ts';
import type { KeptKey, SigningKey, TokenPlace } from './base/signing-key.ts';
import { softwareKeys } from './base/software-key.ts';
import { TokenKeys } from './pkcs11/token-keys.ts';

export interface KeyHolderOptions {
  /** The setting as it is now: `software`, or a PKCS#11 URI. */
  readonly chosen: () => string;
  /** Starts the process that loads a module. */
  readonly spawn: SpawnChild;
  /** The PIN in a file. Throws `file_unreadable`. */
  readonly readPin: (file: string) => Promise<string>;
}

export class KeyHolders {
  readonly #chosen: () => string;
  readonly #tokens: TokenKeys;

  constructor({ chosen, spawn, readPin }: KeyHolderOptions) {
    this.#chosen = chosen;
    const pinOf = async (place: TokenPlace): Promise<string | undefined> => {
      const { pinFile } = this.#asSetNow(place);
      return pinFile === undefined ? undefined : readPin(pinFile);
    };
    this.#tokens = new TokenKeys({ spawn, pinOf });
  }

  /** A new key, where the setting wants it. Throws `key_unavailable`. */
  async make(): Promise<SigningKey> {
    const place = tokenPlace(this.#chosen());
    return place ? this.#tokens.make(place) : softwareKeys.make();
  }

  /** Asks the holder nothing yet. */
  open(kept: KeptKey): SigningKey {
    return 'holder' in kept ? this.#tokens.open(kept) : softwareKeys.open(kept);
  }

  /** A key that nothing uses any more. Never throws: a token that isn't there keeps it. */
  async remove(kept: KeptKey | undefined): Promise<void> {
    if (kept && 'holder' in kept) await this.#tokens.remove(kept).catch(() => undefined);
  }

  close(): void {
    this.#tokens.close();
  }

  /** The file with a token's PIN may have moved since the key was made. */
  #asSetNow(place: TokenPlace): TokenPlace {
    const now = tokenPlace(this.#chosen());
    return now?.module === place.module && now.token === place.token ? now : place;
  }
}

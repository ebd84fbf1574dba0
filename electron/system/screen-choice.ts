/**
 * Whether the vault is locked with the screen: the setting `lockWithScreen`, which the document has.
 *
 * Invariant: a choice that can't be read counts as on.
 */
import type { InProcessOwner } from '../../src/daemon/methods/dispatch.ts';
import { methods } from '../../src/ipc/protocol/methods.ts';

export class ScreenChoice {
  readonly #owner: Pick<InProcessOwner, 'call'>;

  constructor(owner: Pick<InProcessOwner, 'call'>) {
    this.#owner = owner;
  }

  async isOn(): Promise<boolean> {
    try {
      const { settings } = methods['settings.get'].result.parse(await this.#owner.call('settings.get', {}));
      return settings['lockWithScreen'] === true;
    } catch {
      return true;
    }
  }

  /** Throws what `settings.set` throws. */
  async set(isOn: boolean): Promise<void> {
    await this.#owner.call('settings.set', { name: 'lockWithScreen', value: isOn });
  }
}

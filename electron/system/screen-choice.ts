/**
 * Whether the vault is locked with the screen: the setting `lockWithScreen`, which the vault vouches for.
 *
 * Invariant: a choice that can't be read counts as on. An earlier version kept the choice in preferences.json: on
 * there counts too, until the person chooses anew.
 */
import type { InProcessOwner } from '../../src/daemon/in-process-owner.ts';
import { methods } from '../../src/ipc/protocol/methods.ts';
import type { PreferenceFile } from './preferences.ts';

export class ScreenChoice {
  readonly #owner: Pick<InProcessOwner, 'call'>;
  readonly #preferences: PreferenceFile;

  constructor(owner: Pick<InProcessOwner, 'call'>, preferences: PreferenceFile) {
    this.#owner = owner;
    this.#preferences = preferences;
  }

  async isOn(): Promise<boolean> {
    try {
      if (this.#preferences.choices().lockWithScreen) return true;
      const { settings } = methods['settings.get'].result.parse(await this.#owner.call('settings.get', {}));
      return settings['lockWithScreen'] === true;
    } catch {
      return true;
    }
  }

  /** Throws what `settings.set` throws; `file_unreadable`. */
  async set(isOn: boolean): Promise<void> {
    await this.#owner.call('settings.set', { name: 'lockWithScreen', value: isOn });
    if (this.#preferences.choices().lockWithScreen) this.#preferences.choose({ lockWithScreen: false });
  }
}

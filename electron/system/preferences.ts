/**
 * What the windows remember for themselves: the user's preferences and the main window's size.
 *
 * Invariant: no secret and nothing that confers authority. What doesn't fit its schema counts as the
 * default for a size, and as an error for the user's own choices: a file that can't be read is kept.
 */
import { ipcMain } from 'electron';
import Store from 'electron-store';
import * as z from 'zod';
import { KeyturnError } from '../../src/base/errors.ts';

const choicesSchema = z.object({
  notifications: z.boolean().default(true),
  isWelcomed: z.boolean().default(false),
  /** At login the window opens too: for desktops without a tray. */
  windowAtLogin: z.boolean().default(false),
  /** The user knows that this desktop shows no tray icons. */
  isTrayTold: z.boolean().default(false),
});

/** Without the start at login, which the system remembers: see login-item.ts. */
export type Choices = z.infer<typeof choicesSchema>;

const sizeSchema = z.object({
  width: z.int().min(320).max(10_000),
  height: z.int().min(320).max(10_000),
});

export type Size = z.infer<typeof sizeSchema>;

export class PreferenceFile {
  readonly #folder: string;
  #store: Store | undefined;

  /** `folder`: the home's config folder. Nothing is read yet. */
  constructor(folder: string) {
    this.#folder = folder;
  }

  /** Throws `file_unreadable`. */
  choices(): Choices {
    const parsed = choicesSchema.safeParse(this.#read('choices') ?? {});
    if (parsed.success) return parsed.data;
    throw this.#unreadable();
  }

  /** Throws `file_unreadable`. */
  choose(change: { readonly [Name in keyof Choices]?: Choices[Name] | undefined }): Choices {
    const chosen = choicesSchema.parse({ ...this.choices(), ...JSON.parse(JSON.stringify(change)) });
    this.#open().set('choices', chosen);
    return chosen;
  }

  size(window: string): Size | undefined {
    try {
      return sizeSchema.safeParse(this.#read(`sizes.${window}`)).data;
    } catch {
      return undefined;
    }
  }

  /** Without the place, which the system chooses each time: the screen may be gone. */
  saveSize(window: string, { width, height }: Size): void {
    try {
      this.#open().set(`sizes.${window}`, { width, height });
    } catch {
      // A size that isn't kept harms nobody; the file is reported where it matters.
    }
  }

  /** The file is read again each time, and may have been damaged since. */
  #read(name: string): unknown {
    const store = this.#open();
    try {
      return store.get(name);
    } catch {
      throw this.#unreadable();
    }
  }

  #open(): Store {
    if (this.#store) return this.#store;
    const name = 'preferences';
    try {
      this.#store = new Store({ cwd: this.#folder, name, configFileMode: 0o600, clearInvalidConfig: false });
      return this.#store;
    } catch {
      throw this.#unreadable();
    } finally {
      // electron-store answers pages on a channel of its own, which ours don't need.
      ipcMain.removeAllListeners('electron-store-get-data');
    }
  }

  #unreadable(): KeyturnError {
    return new KeyturnError('file_unreadable', `${this.#folder}/preferences.json can't be read.`, {
      hint: 'Keyturn left it as it is. Fix it, or move it away to start with the defaults.',
    });
  }
}

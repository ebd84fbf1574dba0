/** A disk that records how a file is replaced, or lets one step fail. Other calls are the system's. */
import files from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';

export const steps = ['draft', 'write', 'sync', 'rename', 'sync folder'] as const;
type Step = (typeof steps)[number];

export const disk = {
  /** What was done, in order. */
  done: [] as string[],
  /** The step that fails, and the system's code. */
  fails: undefined as readonly [Step, string] | undefined,
  /** Called before each step: what is there now is what a kill would leave. */
  before: undefined as ((step: Step) => void) | undefined,
};

function step(name: Step): void {
  disk.before?.(name);
  const [at, code] = disk.fails ?? [];
  if (at === name) throw Object.assign(new Error(code), { code });
  disk.done.push(name);
}

/** Until the function that it returns is called. */
export function watchDisk(): () => void {
  const { open, rename } = files;
  const replace = (functions: Partial<typeof files>): void => {
    Object.assign(files, functions);
    syncBuiltinESMExports();
  };
  replace({
    open: async (file, flags, mode) => {
      const isDraft = flags === 'wx';
      if (isDraft) step('draft');
      const handle = await open(file, flags, mode);
      const before = (name: Step, call: (...given: never[]) => Promise<void>): typeof call => {
        return async (...given) => {
          step(name);
          await call(...given);
        };
      };
      return Object.assign(handle, {
        sync: before(isDraft ? 'sync' : 'sync folder', handle.sync.bind(handle)),
        writeFile: before('write', handle.writeFile.bind(handle)),
      });
    },
    rename: async (from, to) => {
      step('rename');
      await rename(from, to);
    },
  });
  return () => replace({ open, rename });
}

/** What is wrong with the fuses of this Electron; `named`: those of electron-builder.yml. */
export function fuseFaults(electron: string, named: Readonly<Record<string, boolean>>): Promise<string[]>;

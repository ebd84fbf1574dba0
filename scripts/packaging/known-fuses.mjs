// For electron-builder's hook afterPack: ends the build if Electron has a fuse that electron-builder.yml doesn't name. A new
// version of Electron may bring one, and it would stay as shipped without a word.
import path from 'node:path';
import { FuseV1Options, getCurrentFuseWire } from '@electron/fuses';

/** Fuses that electron-builder can't set yet, by their place, and as they are to be shipped. */
const unsettable = { 8: { name: 'wasmTrapHandlers', state: '1' } };

const lower = (name) => name[0].toLowerCase() + name.slice(1);

/** What is wrong with the fuses of this Electron; `named`: those of electron-builder.yml. */
export async function fuseFaults(electron, named) {
  const wire = await getCurrentFuseWire(electron);
  const places = Object.keys(wire).filter((key) => /^\d+$/.test(key));
  return places.flatMap((place) => {
    const name = FuseV1Options[place];
    if (name !== undefined)
      return lower(name) in named ? [] : [`electron-builder.yml doesn’t name the fuse ${lower(name)}`];
    const known = unsettable[place];
    if (known === undefined) return [`Electron has a fuse that nobody here knows, at place ${place}`];
    return String.fromCodePoint(wire[place]) === known.state
      ? []
      : [`the fuse ${known.name} isn’t ${known.state}`];
  });
}

export default async function requireKnownFuses({ appOutDir, electronPlatformName, packager }) {
  const { productFilename } = packager.appInfo;
  const program = { darwin: `${productFilename}.app`, win32: `${productFilename}.exe` }[electronPlatformName];
  const electron = path.join(appOutDir, program ?? packager.executableName);
  const faults = await fuseFaults(electron, packager.config.electronFuses);
  if (faults.length > 0) throw new Error(`${faults.join('; ')}.`);
}

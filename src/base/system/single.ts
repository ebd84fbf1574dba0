/** Whether this program is one executable file, in which nothing is beside anything. */

/** The build of that file puts `true` in this module's place (scripts/packaging/single.ts). */
export const isSingle: boolean = false;

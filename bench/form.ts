/**
 * Which form of the bench this process runs. The smoke form shows only that everything runs: few rounds, figures without
 * meaning. Rows share what they need alike, programs start from what Node compiled before, and a person in this process
 * signs in at most homes.
 */
import process from 'node:process';

export const isSmoke = process.argv.includes('--smoke');

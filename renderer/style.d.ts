/** Imports of style sheets, which only the build reads. */
declare module '*.css';

const { npm_execpath: script, npm_node_execpath: node } = process.env;

/** The machine's own Node.js, which runs npm; if unknown, the one that runs this process. */
export const MACHINE_NODE = node ?? process.execPath;

/** npm on its own Node.js: on another one it may not find its modules. */
export const NPM: readonly [string, ...string[]] = script ? [MACHINE_NODE, script] : ['npm'];

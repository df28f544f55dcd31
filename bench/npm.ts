const { npm_execpath: script, npm_node_execpath: node } = process.env;

/** The machine's own Node.js, which npm runs on; the one that runs this where that is not known. */
export const MACHINE_NODE = node ?? process.execPath;

/** npm on the Node.js that it came with: on another one it may not find its own modules. */
export const NPM: readonly [string, ...string[]] = script ? [MACHINE_NODE, script] : ['npm'];

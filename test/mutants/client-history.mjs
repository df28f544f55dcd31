// Faults in the history of the client: restores, checkpoints, exports (client/src).

const restore = (pattern) => [['test/client/restore.spec.ts', pattern]];

export const CLIENT_HISTORY_MUTANTS = [
  {
    name: 'restore over an edit that was not sent',
    promise: 'A restore keeps what is there and was not synced under another name.',
    file: 'client/src/folder/restoring.ts',
    find: 'seen = await keepCopy(run, path, local);',
    replace: 'seen = local.stat;',
    tests: restore('keeps what is there and was not synced'),
  },
  {
    name: 'restore removes a file unproven',
    promise: 'A restore removes only files whose content the server has.',
    file: 'client/src/folder/restoring.ts',
    find: 'const stat = synced && (await proven(disk, clock, local.diskPath, local.stat, synced.plainHash));',
    replace:
      'const stat = synced && (await proven(disk, clock, local.diskPath, local.stat, synced.plainHash), local.stat);',
    tests: restore('removes nothing that the server does not have'),
  },
  {
    name: 'a restore that was broken off begins anew',
    promise: 'A restore that is repeated after a crash restores nothing twice.',
    file: 'client/src/folder/restore-record.ts',
    find: 'new Set(isSame ? paths : [])',
    replace: 'new Set(isSame ? paths.slice(0, 0) : [])',
    tests: restore('had restored it'),
  },
  {
    name: 'second copy after a kill',
    promise: 'A restore that is killed between the copy of an edit and the file makes no second copy.',
    file: 'client/src/folder/keep-copy.ts',
    find: 'if (await hasContent(run, copy, content)) {',
    replace: 'if ((await hasContent(run, copy, content)) && content.length < 0) {',
    tests: restore('killed between the copy and the file'),
  },
  {
    name: 'restore into dangerous places',
    promise: 'A restore writes nothing where programs obey it.',
    file: 'client/src/folder/restoring.ts',
    find: '    const left = this.rules.leftOut(path);\n    return left',
    replace:
      "    const left = path.includes('.git') ? undefined : this.rules.leftOut(path);\n    return left",
    tests: restore('writes nothing where programs obey it'),
  },
  {
    name: 'lost checkpoint answer',
    promise: 'A checkpoint whose answer was lost is found, and not reported as failed.',
    file: 'client/src/core/history/vault-history.ts',
    find: 'if (made) return this.named(made);',
    replace: "if (made && label === '') return this.named(made);",
    tests: restore('makes one checkpoint also when the answer is lost'),
  },
  {
    name: 'an export obeys rows that are no objects',
    promise: 'A row of an export that is no object leaves the others.',
    file: 'client/src/export/workspace.ts',
    find: 'rows.map((row) => rowOf(row) ?? {})',
    replace: 'rows.map((row) => rowOf(row))',
    tests: [['test/client/cli-export.spec.ts', 'that is no object for an empty one']],
  },
  {
    name: 'an export writes where programs obey it',
    promise: 'Of an export nothing is written outside its directory, or where programs obey it.',
    file: 'client/src/export/output.ts',
    find: 'if (isDangerous(path)) throw',
    replace: 'if (isDangerous(path) && path === "") throw',
    tests: [['test/client/cli-export.spec.ts', 'whatever names the archive has']],
  },
];

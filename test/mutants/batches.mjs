// Faults in uploads and downloads of many files in one request.

const BATCHES = 'test/api/batches.spec.ts';
const LIMITS = 'test/api/batch-limits.spec.ts';
const RACES = 'test/invariants/batch-races.spec.ts';
const READER = 'test/contract/cbor-maps.spec.ts';
const UPLOAD = 'src/domain/files/batches/batch-upload.ts';
const DOWNLOAD = 'src/domain/files/batches/batch-download.ts';
const CONTROLLER = 'src/domain/files/batches/batches.controller.ts';
const MAPS = 'src/domain/files/batches/cbor-maps.ts';

export const BATCH_MUTANTS = [
  {
    name: 'batch acknowledged before its groups are committed',
    promise: 'A batch is answered when all of its groups are durable.',
    file: UPLOAD,
    find: `      cursor = (await writing) ?? cursor;
    } finally {
      await writing.catch(() => undefined);
    }`,
    replace: `    } finally {
      results.push(...Array.from({ length: 0 }, () => results[0] as UploadResult));
    }`,
    tests: [[BATCHES, 'stores each item as a PUT does']],
  },
  {
    name: 'group of a batch that failed passed over',
    promise: 'A batch ends with the first group that fails.',
    file: UPLOAD,
    find: 'writing.catch(() => undefined); // thrown when it is awaited',
    replace: 'writing = writing.catch(() => undefined);',
    tests: [[RACES, 'ends it']],
  },
  {
    name: 'path of a batch decided twice',
    promise: 'A batch changes a path at most once.',
    file: UPLOAD,
    find: 'if (isRepeated) throw',
    replace: 'if (isRepeated && paths.size === 0) throw',
    tests: [[BATCHES, 'refuses bad items alone']],
  },
  {
    name: 'hashes of a batch not checked',
    promise: 'Each content of a batch has the hash that the client has given.',
    file: 'src/domain/files/batches/batch-upload.ts',
    find: "if (contentHash.toLowerCase() !== hash('sha256', content))",
    replace: "if (contentHash.toLowerCase() === hash('sha512', content))",
    tests: [[BATCHES, 'refuses bad items alone']],
  },
  {
    name: 'surplus of a batch stored',
    promise: 'What a batch has beyond its limits is not stored.',
    file: UPLOAD,
    find: 'if (bytes > MAX_BATCH_BYTES)',
    replace: 'if (bytes > 2 * MAX_BATCH_BYTES)',
    tests: [[BATCHES, 'answers 413']],
  },
  {
    name: 'groups of a batch without the access check',
    promise: 'Each group of a batch is written only while its workspace is open to the caller.',
    file: UPLOAD,
    find: '({ ...item, workspaceId, caller, deviceId })',
    replace: '({ ...item, workspaceId, caller: caller && undefined, deviceId })',
    tests: [[RACES, 'ends it']],
  },
  {
    name: 'groups of a batch with a revoked token',
    promise: 'Each group of a batch is written only while its token is good.',
    file: CONTROLLER,
    find: 'await recheck(raw);',
    replace: 'await Promise.resolve(recheck);',
    tests: [[RACES, 'ends it']],
  },
  {
    name: 'silent batch keeps its slot',
    promise: 'A slot of a queue is given back while its client is silent.',
    file: 'src/platform/http/body.ts',
    find: 'this.isResting = true;\n    this.options.place?.rest();',
    replace: '',
    tests: [[LIMITS, 'holds no slot and no reserve']],
  },
  {
    name: 'items of uploads not counted as transfers',
    promise: 'Each item of a batch counts towards the limit of transfers.',
    file: CONTROLLER,
    find: 'await this.limit.countTransfers(principal, items);',
    replace: 'await this.limit.countTransfers(principal, items && 1);',
    tests: [[LIMITS, 'counts each item of an upload']],
  },
  {
    name: 'items of downloads not counted as transfers',
    promise: 'Each item of a batch counts towards the limit of transfers.',
    file: CONTROLLER,
    find: 'await this.limit.countTransfers(principal, items.length);',
    replace: 'await this.limit.countTransfers(principal, items && 1);',
    tests: [[LIMITS, 'counts each item of a download']],
  },
  {
    name: 'slow batch download keeps its slot',
    promise: 'A batch or an export holds no slot while its client does not read.',
    file: 'src/platform/http/json-response.ts',
    find: `      place.rest();
      if (chunk.done) return;`,
    replace: '      if (chunk.done) return;',
    tests: [
      [LIMITS, 'that does not read its download'],
      ['test/api/export.spec.ts', 'holds no slot while its client does not read'],
    ],
  },
  {
    name: 'refused item ends the batch',
    promise: 'A refused item of a batch leaves the others.',
    file: UPLOAD,
    find: 'new Set([400, 409, 412, 507])',
    replace: 'new Set([400, 409, 507])',
    tests: [[BATCHES, 'refuses bad items alone']],
  },
  {
    name: 'results of a batch in another order',
    promise: 'The results of a batch are in the order of its items.',
    file: UPLOAD,
    find: 'results[place] = uploadedResult(item, outcome.value);',
    replace: 'results[group.at(-1 - index)?.place ?? place] = uploadedResult(item, outcome.value);',
    tests: [[BATCHES, 'refuses bad items alone']],
  },
  {
    name: 'batch received without room on the disk',
    promise: 'A batch is refused before its body is read while the disk has reached its reserve.',
    file: UPLOAD,
    find: 'return this.space.during((place) => this.uploadGroups(batch, read(placesOf(place, batch.slot))));',
    replace: 'return this.uploadGroups(batch, read(batch.slot ?? placesOf));',
    tests: [[LIMITS, 'before its body is read']],
  },
  {
    name: 'groups of a batch not announced',
    promise: 'The changes of a batch reach the other devices at once.',
    file: 'src/domain/files/change-log.ts',
    find: 'if (kinds.length > 0) this.announce(workspaceId, { by: deviceId });',
    replace: 'if (kinds.length < 0) this.announce(workspaceId, { by: deviceId });',
    tests: [[LIMITS, 'is announced once for each group']],
  },
  {
    name: 'answer to a batch without a bound',
    promise: 'The contents of an answer to a batch have at most 32 MiB.',
    file: DOWNLOAD,
    find: 'left = answers.length === 0 ? 0 : left - bytes;',
    replace: 'left -= answers.length === 0 ? 0 : Math.min(0, bytes);',
    tests: [[BATCHES, 'leaves contents out beyond 32 MiB']],
  },
  {
    name: 'contents beyond a group left out',
    promise: 'A batch download leaves contents out only beyond its documented limits.',
    file: DOWNLOAD,
    find: 'const sent = end < 0 ? heads : heads.slice(0, end);',
    replace: 'const sent = end < 0 ? heads : heads.slice(0);',
    tests: [[BATCHES, 'stores each item as a PUT does']],
  },
  {
    name: '304 in a batch by the case of the hash',
    promise: 'An item whose hash the client has is 304, in whatever case it gives the hash.',
    file: DOWNLOAD,
    find: 'const status = contentHash?.toLowerCase() === liveHash ? 304 : 200;',
    replace: 'const status = contentHash === liveHash ? 304 : 200;',
    tests: [[BATCHES, 'answers an item for each one asked']],
  },
  {
    name: 'batch downloads without the access check',
    promise: 'A batch download reads only what its caller may read at that moment.',
    file: 'src/domain/files/batches/batch-download.ts',
    find: 'WHERE EXISTS (SELECT 1 FROM {workspaces} w WHERE w.id = $1 AND ${access(6)})',
    replace: 'WHERE EXISTS (SELECT 1 FROM {workspaces} w WHERE w.id = $1 OR ${access(6)})',
    tests: [[RACES, 'reads nothing of a workspace']],
  },
  {
    name: 'batch that breaks off taken for whole',
    promise: 'A batch that ends within an item is not answered as if it were whole.',
    file: MAPS,
    find: "if (rest.length > 0) throw new BadRequest('the body ends within an item of the CBOR sequence');",
    replace: '',
    tests: [
      [READER, 'is refused or read the same'],
      [BATCHES, 'an item without an end'],
    ],
  },
  {
    name: 'items of a batch parsed again with every read',
    promise: 'Reading a batch takes work that grows with its length, however slowly it comes.',
    file: MAPS,
    find: 'Buffer.allocUnsafe(rest.length + missing + READ_BYTES)',
    replace: 'Buffer.allocUnsafe(rest.length + Math.min(missing, 0) + READ_BYTES)',
    tests: [[READER, 'costs work that grows with its length']],
  },
  {
    name: 'items of a batch without a bound',
    promise: 'Memory holds one item of a batch at most, however long it claims to be.',
    file: MAPS,
    find: 'if (rest.length + next.missing > MAX_ITEM_BYTES)',
    replace: 'if (rest.length > 16 * MAX_ITEM_BYTES)',
    tests: [[READER, 'as soon as that is read']],
  },
  {
    name: 'items of a batch with large values besides their content',
    promise: 'A group of a batch holds little more than its contents, whatever else its items have.',
    file: MAPS,
    find: 'if (length - contentIn(map).length > MAX_OTHER_BYTES)',
    replace: 'if (length - contentIn(map).length > MAX_ITEM_BYTES)',
    tests: [[READER, 'besides its content']],
  },
  {
    name: 'items of a batch larger than a file may be',
    promise: 'No item of a batch is larger than MAX_FILE_BYTES.',
    file: UPLOAD,
    find: 'Math.min(MAX_CONTENT_BYTES, maxFileBytes)',
    replace: 'Math.max(MAX_CONTENT_BYTES, Math.min(maxFileBytes, 0))',
    tests: [[LIMITS, 'that a PUT could not upload']],
  },
  {
    name: 'content of an unsent batch left open',
    promise: 'A download whose client leaves before the first bytes are sent leaves nothing open.',
    file: 'src/platform/http/json-response.ts',
    find: "body.once('close', () => void chunks.return().catch(() => undefined));",
    replace: '',
    tests: [[LIMITS, 'leaves no content open']],
  },
  {
    name: 'misspelt conditions of a batch',
    promise: 'An upload whose condition is misspelt overwrites nothing.',
    file: 'src/domain/files/batches/batch-upload.ts',
    find: 'refuseUnknownMembers(map.keys(), MEMBERS);',
    replace: 'refuseUnknownMembers([], MEMBERS);',
    tests: [['test/api/batches.spec.ts', 'refuses an item with an unknown member']],
  },
];

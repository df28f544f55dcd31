import type { MigrationInterface, QueryRunner } from 'typeorm';
import { PUT_DOCUMENT } from './1763600000025-put-document.js';
import { PUT_DOCUMENTS } from './1763600000025-put-documents.js';
import { PUT_FILE_AS_BEFORE, WRAPPERS } from './1763600000025-put-file.js';
import { UploadsTogether1763600000020 } from './1763600000020-uploads-together.js';

/**
 * `document_bytes`: the bytes of the blobs that a workspace's versions refer to, each blob once. It has no index and is
 * written in place (HOT) by the update that each upload makes of this row anyway. No CHECK: while instances of the version
 * before thin histories without counting, the count can only be too high; the doctor recounts.
 *
 * `put_file` and `put_files` keep their signatures for those instances and count as well. Here the count begins at 0, so
 * that the table is locked for milliseconds; `CountedDocuments1763600000030` adds what is there already.
 */
export class DocumentUsage1763600000025 implements MigrationInterface {
  readonly name = 'DocumentUsage1763600000025';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE workspaces ADD COLUMN document_bytes bigint NOT NULL DEFAULT 0;
      ${PUT_DOCUMENT} ${PUT_DOCUMENTS} ${WRAPPERS}
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`DROP FUNCTION put_files; ${PUT_FILE_AS_BEFORE}`);
    await new UploadsTogether1763600000020().up(runner);
    await runner.query(`
      DROP FUNCTION put_documents; DROP FUNCTION put_document;
      ALTER TABLE workspaces DROP COLUMN document_bytes;
    `);
  }
}

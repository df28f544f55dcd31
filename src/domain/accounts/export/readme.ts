/** The first file of every export. */
export const README = `This archive has everything that the service holds of one account.

It is complete if it ends with the file manifest.json. That file has the checksums of the lists in
checksums/, and these have the checksums of all other files: "sha256sum -c checksums/*.txt" checks
them in the folder that the archive was unpacked to.

account.json, devices-*, tokens-*, sessions-*, key-sessions-*, networks-*, notices-*, payments-* and
audit-* are about the account. No password, token or key is among them.

workspaces/ID/ has one workspace: its salts (workspace.json), its files, versions, changes, checkpoints,
key slots and attachments. Names of files, labels and contents are encrypted as the service stores them; only
the password of the workspace opens them. The client of the service decrypts them into a folder:

  cloud-sync export export.tar --out FOLDER

Files that end in .jsonl have one JSON object in each line. The format is described in
docs/reference/export-format.md of the service.
`;

import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { randomUUID } from 'node:crypto';
import { Column, Entity, PrimaryColumn, type Repository } from 'typeorm';

/** The id of this database: at most one row. */
@Entity('database_identity')
export class DatabaseIdentityEntity {
  @PrimaryColumn('boolean')
  isOnly: true;

  @Column('uuid')
  id: string;
}

/**
 * The id of this database, which no backup contains: a restored copy is another database. A copy made with PostgreSQL's own tools
 * has the id of the original.
 */
@Injectable()
export class DatabaseIdentity {
  constructor(
    @InjectRepository(DatabaseIdentityEntity) private readonly rows: Repository<DatabaseIdentityEntity>,
  ) {}

  async id(): Promise<string> {
    return (await this.find()) ?? this.made();
  }

  /** When two processes insert an id, the first one stays. */
  private async made(): Promise<string> {
    const row = { isOnly: true as const, id: randomUUID() };
    await this.rows.createQueryBuilder().insert().values(row).orIgnore().execute();
    const id = await this.find();
    if (id === undefined) throw new Error('the database was not given an id');
    return id;
  }

  private async find(): Promise<string | undefined> {
    return (await this.rows.findOneBy({ isOnly: true }))?.id;
  }
}

/** SQL: the schema in which the service finds its tables, of those of its role's search path. */
export const SCHEMA_OID = `(SELECT relnamespace FROM pg_class WHERE oid = to_regclass('users'))`;

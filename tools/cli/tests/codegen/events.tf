# Made by `keyderive codegen --hcl` from a layout file.
variable "bigtable_instance" {
  type = string
}

resource "google_bigtable_table" "events" {
  name          = "events"
  instance_name = var.bigtable_instance

  # A tablet for each bucket of the salt, so that the first writes are spread.
  split_keys = ["1#", "2#", "3#"]

  column_family {
    family = "cf"
  }

  # The stamp: the fingerprint of the keys' layout and the table's id. For a table that has one, make this file again with its
  # id, `--stamp-id`; this one is 00005eed. A re-keying changes it.
  column_family {
    family = "keyderive.6c1705375cfbd9b0.00005eed"
  }

  row_key_schema = <<-EOT
    {"structType": {"fields":[{"fieldName":"salt","type":{"stringType":{"encoding":{"utf8Bytes":{}}}}},{"fieldName":"user_id","type":{"stringType":{"encoding":{"utf8Bytes":{}}}}},{"fieldName":"site","type":{"stringType":{"encoding":{"utf8Bytes":{}}}}},{"fieldName":"at","type":{"stringType":{"encoding":{"utf8Bytes":{}}}}},{"fieldName":"seq","type":{"stringType":{"encoding":{"utf8Bytes":{}}}}}],"encoding":{"delimitedBytes":{"delimiter":"Iw=="}}}}
  EOT

  lifecycle {
    prevent_destroy = true
    # Other splits would make Terraform delete the table and create it again.
    ignore_changes = [split_keys]
  }
}

resource "google_bigtable_gc_policy" "events_0_cf" {
  instance_name   = var.bigtable_instance
  table           = google_bigtable_table.events.name
  column_family   = "cf"
  deletion_policy = "ABANDON"
  gc_rules        = jsonencode({ rules = [{ max_version = 1 }] })
}

resource "google_bigtable_gc_policy" "events_1_stamp_1" {
  instance_name   = var.bigtable_instance
  table           = google_bigtable_table.events.name
  column_family   = "keyderive.6c1705375cfbd9b0.00005eed"
  deletion_policy = "ABANDON"
  gc_rules        = jsonencode({ rules = [{ max_version = 1 }] })
}

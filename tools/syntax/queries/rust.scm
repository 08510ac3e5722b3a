(function_item name: (identifier) @name) @function
(function_signature_item name: (identifier) @name) @function
(struct_item name: (type_identifier) @name) @struct
(union_item name: (type_identifier) @name) @union
(enum_item name: (type_identifier) @name) @enum
(trait_item name: (type_identifier) @name) @trait
(type_item name: (type_identifier) @name) @type
(mod_item name: (identifier) @name body: (_)) @module
(const_item name: (identifier) @name) @constant
(static_item name: (identifier) @name) @variable
(macro_definition name: (identifier) @name) @macro
(impl_item type: (_) @name) @impl
(associated_type name: (type_identifier) @name) @type
(field_declaration name: (field_identifier) @name @asked) @field
(enum_variant name: (identifier) @name @asked) @variant
(token_tree "fn" . (identifier) @name @function)
(token_tree "struct" . (identifier) @name @struct)
(token_tree "enum" . (identifier) @name @enum)
(token_tree "trait" . (identifier) @name @trait)
(token_tree "const" . (identifier) @name @constant)
((token_tree "static" . (identifier) @unused . (identifier) @name @variable) (#eq? @unused "ref"))
